import { resolve } from 'node:path';
import { type Conversion, convertFile } from '../../document/convert/convert.js';
import type { LayoutName } from '../../document/layout.js';
import { rewriteFile } from '../../files/rewrite-file.js';
import { createTarget } from '../../files/write-file.js';
import { exists } from '../../platform/presence.js';
import type { ParsedFlags } from '../../settings/flags.js';
import { isOn } from '../../settings/flags.js';
import { wrap } from '../../settings/text.js';
import type { CommandContext, ExitCode } from '../command.js';
import { fileCommand, JSON_FLAG, type NamedFile } from './file.js';

const LAYOUTS: readonly LayoutName[] = ['inbounds', 'access_keys'];

export const configConvert = fileCommand({
  name: 'config convert',
  settings: ['dataDir', 'inPlace'],
  flags: [
    { flag: 'layout', placeholder: 'LAYOUT', repeatable: false, offered: LAYOUTS },
    { flag: 'force', placeholder: null, repeatable: false },
    { flag: 'out', placeholder: 'FILE', repeatable: false, offered: 'paths' },
    JSON_FLAG,
  ],
  problems: (flags) => (layoutOf(flags) === undefined ? [`expected --layout ${LAYOUTS.join(' or --layout ')}`] : []),
  work: async (file, context) => {
    const layout = layoutOf(file.flags);
    if (layout === undefined) return 2;
    const conversion = convertFile(file.target.bytes, layout, (share) => {
      context.progress.show(`converting ${file.named}`, share);
    });
    const refused = conversion.losses.length > 0 && !isOn(file.flags, 'force');
    const out = file.flags.values.get('out')?.[0] ?? null;
    const isJson = isOn(file.flags, JSON_FLAG.flag);
    if (!isJson) sayLosses(conversion, refused, context);
    if (!refused) await write(file, conversion, out, context);
    if (isJson) {
      const { losses } = conversion;
      context.output.line(JSON.stringify({ layout, losses, written: refused ? null : (out ?? file.named) }, null, 2));
    } else if (!refused) context.output.line(writtenText(file, layout, out));
    return exitCode(refused);
  },
  help: (settings) => `Usage: keyway config convert FILE --layout inbounds|access_keys [--force] [--out FILE] [--json]

Converts a server's configuration file to the layout of newer servers (keys and listener under
inbounds, from server version 0.3.7 on) or to that of older ones (a root access_keys, api and
outbound). Keys, names, limits, their order, all comments and the members that Keyway does not know
stay. What has no place in the other layout, such as a second inbound or a listener that is not
enabled, is named, and the file is not converted unless --force says that it may be left out.

  --layout LAYOUT  inbounds or access_keys
  --force          Convert although something is left out.
  --out FILE       Write to this new file, readable by you alone, and leave the other as it is.
                   Without it the file itself is replaced, and what it was is kept for ever.

${settings}
  --json           Print what was lost and written as JSON.

  keyway config convert server.jsonc --layout inbounds --out server-new.jsonc`,
});

function exitCode(refused: boolean): ExitCode {
  return refused ? 1 : 0;
}

function layoutOf({ values }: ParsedFlags): LayoutName | undefined {
  return LAYOUTS.find((layout) => layout === values.get('layout')?.[0]);
}

/** Makes losses a problem when they are refused, and shows them before the conversion otherwise. */
function sayLosses({ losses }: Conversion, refused: boolean, { complain, output }: CommandContext): void {
  const say = refused ? complain : (line: string) => output.line(line);
  for (const { place, text } of losses) for (const line of wrap(`${place}: ${text}`, 100)) say(line);
  if (refused) say('Nothing is written: give such things up with --force, or take them out of the file first.');
}

async function write(
  { named, target, versions }: NamedFile,
  { bytes }: Conversion,
  out: string | null,
  { folder, fileSystem, progress }: CommandContext,
): Promise<void> {
  progress.show(`writing ${out ?? named}`);
  if (out === null) {
    await rewriteFile(versions, target, bytes, { forever: true });
    return;
  }
  const path = resolve(folder, out);
  if (await exists(fileSystem, path)) throw new Error(`${out} exists and is not overwritten`);
  await createTarget(fileSystem, path, bytes);
}

function writtenText({ named }: NamedFile, layout: LayoutName, out: string | null): string {
  const kept = `What it was is kept for ever: keyway config list --config ${named}`;
  return out === null ? `${named} has the layout with ${layout} now. ${kept}` : `${out} is ${named} with ${layout}.`;
}
