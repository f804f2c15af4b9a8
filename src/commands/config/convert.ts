import { resolve } from 'node:path';
import { SERVER_FILES } from '../../../revisions/all.js';
import { checkFile } from '../../document/check/file-check.js';
import { problemForAll } from '../../document/check/keeps-starting.js';
import { type Conversion, convertFile } from '../../document/convert/convert.js';
import type { ConversionTarget } from '../../document/convert/target.js';
import type { LayoutName } from '../../document/layout.js';
import { createTarget } from '../../files/write-file.js';
import { exists } from '../../platform/presence.js';
import { isOn, type ParsedFlags, switchFlag, valueFlag } from '../../settings/flags.js';
import { wrap } from '../../settings/text.js';
import type { ServerFile } from '../../wire/traits/server-file.js';
import type { CommandContext, ExitCode } from '../command.js';
import { fileCommand, JSON_FLAG, type NamedFile, replaceNamed } from './file.js';
import { FOR_FLAG, fitFor, fitText, serverIn, serverProblems } from './fit.js';

const LAYOUTS: readonly LayoutName[] = ['inbounds', 'access_keys'];
const LAYOUT = 'layout';

export const configConvert = fileCommand({
  name: 'config convert',
  settings: ['dataDir', 'inPlace'],
  flags: [
    FOR_FLAG,
    valueFlag(LAYOUT, 'LAYOUT', LAYOUTS),
    switchFlag('force'),
    valueFlag('out', 'FILE', 'paths'),
    JSON_FLAG,
  ],
  problems(flags) {
    const [hasServer, hasLayout] = [FOR_FLAG.flag, LAYOUT].map((flag) => flags.values.has(flag));
    const isOne = hasServer !== hasLayout && (hasServer || layoutOf(flags) !== undefined);
    const wanted = `expected --layout ${LAYOUTS.join(' or --layout ')}, or --${FOR_FLAG.flag} VERSION`;
    return isOne ? serverProblems(flags) : [wanted];
  },
  work: async (file, context) => {
    const server = serverIn(file.flags);
    const layout = layoutOf(file.flags);
    const readers = server === null ? SERVER_FILES.filter((one) => one.layout === layout) : [server.revision.file];
    const [oldest] = readers;
    if (oldest === undefined) return 2;
    // Of a layout that servers of several lines read nothing is known but that.
    const to = readers.length === 1 ? oldest : { layout: oldest.layout, configVersion: null, laterMembers: [] };
    const conversion = startable(
      file.target.bytes,
      readers,
      convertFile(file.target.bytes, to, (share) => {
        context.progress.show(`converting ${file.named}`, share);
      }),
    );
    const refused = conversion.losses.length > 0 && !isOn(file.flags, 'force');
    const out = file.flags.values.get('out')?.[0] ?? null;
    const isJson = isOn(file.flags, JSON_FLAG.flag);
    if (!isJson) sayLosses(conversion, refused, context);
    if (!refused) await write(file, conversion, out, context);
    const fit = server === null ? null : fitFor(checkFile(conversion.bytes), server);
    if (isJson) {
      const { losses } = conversion;
      const written = refused ? null : (out ?? file.named);
      const told = {
        layout: to.layout,
        losses,
        written,
        ...(fit === null ? {} : { for: { ...fit, keys: undefined } }),
      };
      context.output.line(JSON.stringify(told, null, 2));
    } else if (!refused) {
      const lines = [
        writtenText(file, to.layout, out),
        ...fitText(fit, out ?? file.named),
        ...stepsText(conversion, to),
      ];
      for (const line of lines) context.output.line(line);
    }
    return exitCode(refused);
  },
  help: (settings) => `Usage: keyway config convert FILE --for VERSION | --layout inbounds|access_keys
                              [--force] [--out FILE] [--json]

Converts a server's configuration file to what servers of another line read: keys and listener under
inbounds (0.3.7 to 0.3.21), a root access_keys, api and outbound (before, and again from 0.4.0 on), or
those with the config_version that servers from 0.4.6 on write. Keys, names, limits, their order, all
comments and the members that Keyway does not know stay. What has no place there, such as a second
inbound or a listener that is not enabled, or is not read there, such as a domain before 0.4.6, is
named, and the file is not converted unless --force says that it may be so. With --for it also says
whether a server of that version starts from the new file, and what to do first.

  --for VERSION    For servers of this package version.
  --layout LAYOUT  inbounds or access_keys, for the oldest servers that have it.
  --force          Convert although something is left out.
  --out FILE       Write to this new file, readable by you alone, and leave the other as it is.
                   Without it the file itself is replaced, and what it was stays as a version for good.

${settings}
  --json           Print what was lost and written as JSON.

  keyway config convert server.jsonc --layout inbounds --out server-new.jsonc
  keyway config convert server.jsonc --for 0.3.6 --out server-old.jsonc`,
});

/** The conversion, with what its servers would not start with among the losses, where a server starts from the file before. */
function startable(before: Buffer, readers: readonly ServerFile[], conversion: Conversion): Conversion {
  const problem = problemForAll(conversion.bytes, readers);
  if (problem === null || problemForAll(before, SERVER_FILES) !== null) return conversion;
  const [place = '', ...words] = problem.split(': ');
  const text = `${words.join(': ')}: servers of the target do not start with what stands there; it stays`;
  return { ...conversion, losses: [...conversion.losses, { place, text }] };
}

function exitCode(refused: boolean): ExitCode {
  return refused ? 1 : 0;
}

function layoutOf({ values }: ParsedFlags): LayoutName | undefined {
  return LAYOUTS.find((layout) => layout === values.get(LAYOUT)?.[0]);
}

/** Makes losses a problem when they are refused, and shows them before the conversion otherwise. */
function sayLosses({ losses }: Conversion, refused: boolean, { complain, output }: CommandContext): void {
  const say = refused ? complain : (line: string) => output.line(line);
  for (const { place, text } of losses) for (const line of wrap(`${place}: ${text}`, 100)) say(line);
  if (refused) say('Nothing is written: give such things up with --force, or take them out of the file first.');
}

async function write(
  file: NamedFile,
  { bytes }: Conversion,
  out: string | null,
  { folder, fileSystem, progress }: CommandContext,
): Promise<void> {
  progress.show(`writing ${out ?? file.named}`);
  if (out === null) {
    return replaceNamed(file, bytes, { forever: true });
  }
  const path = resolve(folder, out);
  if (await exists(fileSystem, path)) throw new Error(`${out} exists and is not overwritten`);
  await createTarget(fileSystem, path, bytes);
}

function writtenText({ named }: NamedFile, layout: LayoutName, out: string | null): string {
  const kept = `What it was stays for good: keyway config list --config ${named}`;
  return out === null ? `${named} has the layout with ${layout} now. ${kept}` : `${out} is ${named} with ${layout}.`;
}

/** The steps after a conversion from inbounds to a line that reads them no more. */
function stepsText({ from }: Conversion, { layout, laterMembers }: ConversionTarget): readonly string[] {
  if (from === layout || laterMembers.length === 0) return [];
  const host = laterMembers.includes('domain') ? '"domain", else' : 'the host in';
  return [
    '',
    'Before it starts:',
    ...[
      'Stop the server of today. It writes keys where the new one does not look, and does not start from the new file.',
      `The new one does not name the host of "listen" in its links, but ${host} the first line of .ostp_public_ip beside its file, else an address that it finds. Write down there what clients reach.`,
    ].flatMap((step) => wrap(`- ${step}`, 100)),
  ];
}
