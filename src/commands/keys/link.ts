import { renderUnicodeCompact } from 'uqr';
import type { UpstreamServer } from '../../client/server.js';
import { isDigestOf } from '../../core/key-digest.js';
import type { KeySnapshot } from '../../core/model.js';
import { isOn } from '../../settings/flags.js';
import { clientConfig } from '../../wire/client-config.js';
import { prettyJson } from '../../wire/json/json.js';
import { encodeJson } from '../../wire/json/write-json.js';
import { shareLink } from '../../wire/traits/share-link.js';
import type { CommandContext } from '../command.js';
import { switchFlag } from '../replay/settings.js';
import { allKeys, keysCommand, refuseUnclear } from './keys-command.js';

interface Asked {
  readonly word: string;
  readonly form: 'link' | 'qr' | 'object';
}

async function work(server: UpstreamServer, { word, form }: Asked, context: CommandContext): Promise<void> {
  const { accessKey } = keyMeant(await allKeys(server, context), word);
  const line = await server.find();
  const { value: announced } = await server.subscription(accessKey);
  if (announced === undefined) throw new Error(`the key ${JSON.stringify(word)} has gone meanwhile`);
  context.progress.clear();
  if (form === 'object') {
    context.output.line(prettyJson(Buffer.from(encodeJson(clientConfig(accessKey, announced)))).toString('utf8'));
    return;
  }
  const query = line.shareQuery.query(announced.shareQuery, announced.ownDns ?? false);
  const link = shareLink(accessKey, announced, query);
  if (form === 'qr') context.output.line(renderUnicodeCompact(link, { border: 2 }));
  context.output.line(link);
}

/** The key itself, else the one of that name, else the one that begins so, else the one that a log shows so. */
function keyMeant(keys: readonly KeySnapshot[], word: string): KeySnapshot {
  const ways: readonly ((key: KeySnapshot) => boolean)[] = [
    ({ accessKey }) => accessKey === word,
    ({ name }) => name === word,
    ({ accessKey, name }) => accessKey.startsWith(word) || name?.startsWith(word) === true,
    ({ accessKey }) => isDigestOf(word, accessKey),
  ];
  const candidates = ways.map((isMeant) => keys.filter(isMeant)).find((found) => found.length > 0) ?? [];
  refuseUnclear([{ word, candidates }]);
  const [found] = candidates;
  if (found === undefined) throw new Error('there is no such key');
  return found;
}

export const keysLink = keysCommand<Asked>({
  name: 'keys link',
  flags: [switchFlag('qr'), switchFlag('object')],
  help: `Usage: keyway keys link KEY [--qr|--object]

Prints the share link of a key. KEY is a key, a name that one key has alone, the beginning of
either, or how a log shows the key.

  --qr             A QR code of the link above it, for a terminal.
  --object         The client configuration object instead, as JSON.`,
  read(reading, flags) {
    const [word = ''] = flags.words;
    if (flags.words.length !== 1 || word === '') reading.problems.push('expected keyway keys link KEY, and flags');
    if (isOn(flags, 'qr') && isOn(flags, 'object'))
      reading.problems.push('--object: expected either this or --qr, not both');
    return { word, form: isOn(flags, 'object') ? 'object' : isOn(flags, 'qr') ? 'qr' : 'link' };
  },
  work,
});
