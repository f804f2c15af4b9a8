import { renderUnicodeCompact } from 'uqr';
import type { UpstreamServer } from '../../client/server.js';
import { isReachable } from '../../core/client-address.js';
import { isDigestOf } from '../../core/key-digest.js';
import type { KeySnapshot } from '../../core/model.js';
import { isOn, switchFlag } from '../../settings/flags.js';
import { isJsonObject, type JsonValue, prettyJson } from '../../wire/json/json.js';
import { writeJson } from '../../wire/json/write-json.js';
import type { CommandContext } from '../command.js';
import type { KeyPlace } from './home.js';
import { allKeys, keysCommand, refuseUnclear } from './keys-command.js';

interface Asked {
  readonly word: string;
  readonly form: 'link' | 'qr' | 'object';
  /** The change asked of its random subscription address; null for its share link. */
  readonly subscription: 'hand out' | 'remove' | null;
}

async function work(
  server: UpstreamServer,
  { word, form, subscription }: Asked,
  context: CommandContext,
  { own: call }: KeyPlace,
): Promise<void> {
  const { accessKey } = keyMeant(await allKeys(server, context), word);
  if (subscription !== null) {
    if (call === null)
      throw new Error('expected no --target: addresses are handed out by the Keyway that answers them');
    const path = `/keys/${encodeURIComponent(accessKey)}/address`;
    if (subscription === 'remove') await call('DELETE', path);
    else show(addressIn(await call('POST', path), context), form, context);
    return;
  }
  if (form === 'object') {
    const config = stillThere(accessKey, (await server.clientConfig(accessKey)).value);
    context.progress.clear();
    context.output.line(prettyJson(Buffer.from(writeJson(config))).toString('utf8'));
    return;
  }
  const link = await linkOf(server, accessKey);
  show(link, form, context);
  complainOfHost(link, context);
}

function show(link: string, form: Asked['form'], context: CommandContext): void {
  context.progress.clear();
  if (form === 'qr') context.output.line(renderUnicodeCompact(link, { border: 2 }));
  context.output.line(link);
}

/** Says where a link names an address that clients elsewhere cannot reach. */
export function complainOfHost(link: string, { complain }: Pick<CommandContext, 'complain'>): void {
  const [, host = ''] = /@(\[[^\]]*\]|[^@:/?#]*)(?::\d+)?(?:[/?#]|$)/.exec(link) ?? [];
  if (isReachable(host)) return;
  complain(
    `the link names ${host || 'no host'}, which clients elsewhere cannot reach: set their address in the panel, or start Keyway with --server-host ADDRESS`,
  );
}

/** The address, or of one without a name its path. */
function addressIn(answer: JsonValue, context: CommandContext): string {
  if (!isJsonObject(answer)) throw new Error('it answers with no address');
  if (typeof answer.url === 'string') return answer.url;
  context.complain(
    'the configuration has no domain with TLS: put the address at which clients reach --subscription-bind before it',
  );
  return String(answer.path);
}

/** The share link of a key, of the carrier that the server has. Rejects with an `Error` for people where the key has gone. */
export async function linkOf(server: UpstreamServer, accessKey: string): Promise<string> {
  return stillThere(accessKey, (await server.link(accessKey)).value);
}

function stillThere<T>(accessKey: string, value: T | undefined): T {
  if (value === undefined) throw new Error(`the key ${JSON.stringify(accessKey)} has gone meanwhile`);
  return value;
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
  refuseUnclear([{ word, candidates }], keys);
  const [found] = candidates;
  if (found === undefined) throw new Error('there is no such key');
  return found;
}

export const keysLink = keysCommand<Asked>({
  name: 'keys link',
  flags: [switchFlag('qr'), switchFlag('object'), switchFlag('subscription'), switchFlag('remove')],
  help: `Usage: keyway keys link KEY [--qr|--object] [--subscription [--remove]]

Prints the share link of a key. KEY is a key, a name that one key has alone, the beginning of
either, or how a log shows the key.

  --qr             A QR code of the link above it, for a terminal.
  --object         The client configuration object instead, as JSON.
  --subscription   A subscription address of its own instead, which is random and goes on after a
                   rotation of the key; the same one each time.
  --remove         With --subscription: ends that address.`,
  read(reading, flags) {
    const [word = ''] = flags.words;
    if (flags.words.length !== 1 || word === '') reading.problems.push('expected keyway keys link KEY, and flags');
    if (isOn(flags, 'qr') && isOn(flags, 'object'))
      reading.problems.push('--object: expected either this or --qr, not both');
    const isSubscription = isOn(flags, 'subscription');
    if (isOn(flags, 'remove') && !isSubscription) reading.problems.push('--remove: expected --subscription with it');
    if (isOn(flags, 'object') && isSubscription)
      reading.problems.push('--object: expected either this or --subscription, not both');
    const subscription = isSubscription ? (isOn(flags, 'remove') ? 'remove' : 'hand out') : null;
    return { word, subscription, form: isOn(flags, 'object') ? 'object' : isOn(flags, 'qr') ? 'qr' : 'link' };
  },
  keys: ({ word }) => ({ words: [word], mayBegin: true, elseAll: true }),
  work,
});
