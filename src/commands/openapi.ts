import { resolveRevision } from '../../revisions/index.js';
import { feedOpenApiDocument } from '../feed/openapi.js';
import { type FlagShape, isOn, parseFlags, problemText } from '../settings/flags.js';
import { encodeJson } from '../wire/json/encode.js';
import { prettyJson } from '../wire/json/json.js';
import { openApiDocument } from '../wire/openapi/openapi.js';
import { type Command, type CommandContext, type ExitCode, usageProblem } from './command.js';

const FLAGS: readonly FlagShape[] = [
  { flag: 'revision', placeholder: 'R', repeatable: false, offered: 'revisions' },
  { flag: 'feed', placeholder: null, repeatable: false },
];

async function run(argv: readonly string[], context: CommandContext): Promise<ExitCode> {
  const parsed = parseFlags(argv, FLAGS);
  const wanted = parsed.values.get('revision')?.[0];
  const isFeed = isOn(parsed, 'feed');
  const resolved = wanted === undefined ? null : resolveRevision(wanted);
  const problems = parsed.problems.map(problemText);
  if (parsed.words.length > 0) problems.push('openapi takes no arguments but --revision R or --feed');
  if ((wanted !== undefined) === isFeed && problems.length === 0)
    problems.push('expected --revision R, as "keyway revisions" lists them, or --feed');
  if (resolved?.ok === false)
    problems.push(`revision (flag --revision): ${resolved.problem}, got ${JSON.stringify(wanted)}`);
  if (problems.length > 0 || resolved?.ok === false) return usageProblem(context, 'openapi', problems);
  if (resolved !== null && resolved.note !== null) context.complain(resolved.note);
  const document = resolved === null ? feedOpenApiDocument() : openApiDocument(resolved.revision);
  context.output.line(prettyJson(Buffer.from(encodeJson(document))).toString('utf8'));
  return 0;
}

export const openapi: Command = {
  name: 'openapi',
  flags: FLAGS,
  help: () => `Usage: keyway openapi --revision R
       keyway openapi --feed

Prints the OpenAPI 3.1 document of one revision as JSON: every operation with its path, schemas,
answers and errors, made from the same tables that serve it. Or that of the feed, the tunnel
server's door.

  --revision R  a revision's name or a server package version, as "keyway revisions" lists them
  --feed        the feed's document

  keyway openapi --revision 0.2.48 > openapi.json`,
  run,
};
