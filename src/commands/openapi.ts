import { type ResolvedRevision, resolveRevision } from '../../revisions/index.js';
import { feedOpenApiDocument } from '../feed/openapi.js';
import { prettyJson } from '../wire/json/json.js';
import { encodeJson } from '../wire/json/write-json.js';
import { openApiDocument } from '../wire/openapi/openapi.js';
import { defineCommand, NO_HOME } from './define-command.js';
import { switchFlag, valueFlag } from './replay/settings.js';

/** A revision, or null for the feed. */
type Asked = ResolvedRevision | null;

export const openapi = defineCommand<Asked, null>({
  name: 'openapi',
  flags: [valueFlag('revision', 'R', 'revisions'), switchFlag('feed')],
  home: NO_HOME,
  ask(reading, { words, problems: ofFlags }) {
    const { problems } = reading;
    const wanted = reading.value('revision');
    const resolved = wanted === null ? null : resolveRevision(wanted);
    if (words.length > 0) problems.push('openapi takes no arguments but --revision R or --feed');
    if ((wanted !== null) === reading.isOn('feed') && problems.length === 0 && ofFlags.length === 0)
      problems.push('expected --revision R, as "keyway revisions" lists them, or --feed');
    if (resolved?.ok !== false) return resolved;
    problems.push(`revision (flag --revision): ${resolved.problem}, got ${JSON.stringify(wanted)}`);
    return null;
  },
  async work(_home, resolved, context) {
    if (resolved !== null && resolved.note !== null) context.complain(resolved.note);
    const document = resolved === null ? feedOpenApiDocument() : openApiDocument(resolved.revision);
    context.output.line(prettyJson(Buffer.from(encodeJson(document))).toString('utf8'));
    return 0;
  },
  help: () => `Usage: keyway openapi --revision R
       keyway openapi --feed

Prints the OpenAPI 3.1 document of one revision as JSON: every operation with its path, schemas,
answers and errors, made from the same tables that serve it. Or that of the feed, the tunnel
server's door.

  --revision R  a revision's name or a server package version, as "keyway revisions" lists them
  --feed        the feed's document

  keyway openapi --revision 0.2.48 > openapi.json`,
});
