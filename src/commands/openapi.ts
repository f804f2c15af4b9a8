import { type ResolvedRevision, resolveRevision } from '../../revisions/index.js';
import { feedOpenApiDocument } from '../feed/openapi.js';
import { ownOpenApiDocument } from '../own-api/openapi.js';
import { switchFlag, valueFlag } from '../settings/flags.js';
import { prettyJson } from '../wire/json/json.js';
import { type Encodable, encodeJson } from '../wire/json/write-json.js';
import { openApiDocument } from '../wire/openapi/openapi.js';
import type { CommandContext } from './command.js';
import { defineCommand, NO_HOME } from './define-command.js';

/** A revision, or another document by its name. */
type Asked = ResolvedRevision | 'feed' | 'v1' | null;

/** The word that asks for Keyway's own interface. */
const OWN = 'v1';

export const openapi = defineCommand<Asked, null>({
  name: 'openapi',
  flags: [valueFlag('revision', 'R', 'revisions'), switchFlag('feed')],
  home: NO_HOME,
  ask(reading, { words, problems: ofFlags }) {
    const { problems } = reading;
    const [word = null, ...more] = words;
    const revision = reading.value('revision');
    const wanted = word === null || word === OWN ? revision : word;
    const resolved = wanted === null ? null : resolveRevision(wanted);
    const asked = [revision !== null, reading.isOn('feed'), word !== null].filter((isAsked) => isAsked);
    if ((asked.length !== 1 || more.length > 0) && problems.length === 0 && ofFlags.length === 0)
      problems.push(`expected --revision R, as "keyway revisions" lists them, --feed, or ${OWN}`);
    if (resolved === null) return reading.isOn('feed') ? 'feed' : OWN;
    if (resolved.ok) return resolved;
    problems.push(`revision (flag --revision): ${resolved.problem}, got ${JSON.stringify(wanted)}`);
    return null;
  },
  async work(_home, asked, context) {
    context.output.line(prettyJson(Buffer.from(encodeJson(documentOf(asked, context)))).toString('utf8'));
  },
  help: () => `Usage: keyway openapi --revision R
       keyway openapi --feed
       keyway openapi v1

Prints the OpenAPI 3.1 document of one revision as JSON: every operation with its path, schemas,
answers and errors, made from the same tables that serve it. Or that of the feed, the tunnel
server's door, or of Keyway's own interface.

  --revision R  a revision's name or a server package version, as "keyway revisions" lists them
  --feed        the feed's document
  v1            that of Keyway's own interface, at keyway/v1 of every mount

  keyway openapi --revision 0.2.48 > openapi.json`,
});

function documentOf(asked: Asked, { complain, version }: CommandContext): Encodable {
  if (asked === 'feed') return feedOpenApiDocument();
  if (asked === OWN || asked === null) return ownOpenApiDocument(version);
  if (asked.note !== null) complain(asked.note);
  return openApiDocument(asked.revision);
}
