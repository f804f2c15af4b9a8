import type { UpstreamServer } from '../../client/server.js';
import { isDigestOf } from '../../core/key-digest.js';
import type { KeySnapshot } from '../../core/model.js';
import { isOn, switchFlag, valueFlag } from '../../settings/flags.js';
import { hasNames } from '../../wire/traits/snapshot.js';
import type { CommandContext } from '../command.js';
import { textTable } from '../text-table.js';
import { keysCsv } from './csv.js';
import type { KeyPlace } from './home.js';
import { allKeys, keysCommand } from './keys-command.js';
import { columnsAt, jsonText, type Listed, listed } from './listed.js';
import { notesAt } from './notes.js';
import { printable, printableKey } from './printable.js';
import { sizeText } from './sizes.js';

const FILTERS: Readonly<Record<string, (key: Listed) => boolean>> = {
  online: ({ isOnline }) => isOnline,
  offline: ({ isOnline }) => !isOnline,
  'over-limit': ({ limitBytes, up, down }) => limitBytes !== null && up + down >= limitBytes,
  'without-limit': ({ limitBytes }) => limitBytes === null,
  unused: ({ up, down }) => up + down === 0n,
};

const byText = (of: (key: Listed) => string) => (a: Listed, b: Listed) => (of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : 0);
const mostFirst = (of: (key: Listed) => bigint) => (a: Listed, b: Listed) =>
  of(a) > of(b) ? -1 : of(a) < of(b) ? 1 : 0;

const ORDERS: Readonly<Record<string, (a: Listed, b: Listed) => number>> = {
  key: byText(({ accessKey }) => accessKey),
  name: byText(({ name }) => name ?? ''),
  bytes: mostFirst(({ up, down }) => up + down),
  up: mostFirst(({ up }) => up),
  down: mostFirst(({ down }) => down),
  limit: mostFirst(({ limitBytes }) => limitBytes ?? 2n ** 64n),
  connections: mostFirst(({ connections }) => connections),
};

interface Asked {
  readonly words: readonly string[];
  readonly search: string | null;
  readonly filters: readonly string[];
  readonly order: string | null;
  readonly most: number | null;
  readonly form: 'table' | 'json' | 'csv';
}

async function work(server: UpstreamServer, asked: Asked, context: CommandContext, place: KeyPlace): Promise<void> {
  const keys = await allKeys(server, context);
  const line = await server.find();
  const notes = asked.search === null && asked.form === 'table' ? new Map<string, string>() : await notesAt(place);
  const search = asked.search?.toLowerCase() ?? null;
  const isMeant = ({ accessKey, name }: KeySnapshot) =>
    asked.words.length === 0 ||
    asked.words.some(
      (word) => accessKey.startsWith(word) || name?.startsWith(word) === true || isDigestOf(word, accessKey),
    );
  const isFound = ({ accessKey, name }: KeySnapshot) =>
    search === null ||
    [accessKey, name, notes.get(accessKey)].some((text) => text?.toLowerCase().includes(search) === true);
  const wanted = keys.filter((key) => isMeant(key) && isFound(key)).map((key) => listed(key, line, notes));
  const filtered = wanted.filter((key) => asked.filters.every((name) => FILTERS[name]?.(key) ?? true));
  const order = asked.order === null ? undefined : ORDERS[asked.order];
  const sorted = order === undefined ? filtered : filtered.toSorted(order);
  const shown = asked.most === null ? sorted : sorted.slice(0, asked.most);
  context.progress.clear();
  if (asked.form === 'csv')
    context.output.line(keysCsv(shown, { hasNames: hasNames(line.snapshot), more: columnsAt(place) }));
  else if (asked.form === 'json') context.output.line(jsonText(shown));
  else for (const text of tableLines(shown, filtered.length)) context.output.line(text);
}

function tableLines(shown: readonly Listed[], found: number): readonly string[] {
  if (found === 0) return ['No key.'];
  const rows = shown.map(({ accessKey, name, isOnline, up, down, limitBytes }) => [
    printableKey(accessKey),
    printable(name ?? ''),
    isOnline ? 'online' : '',
    sizeText(up),
    sizeText(down),
    limitBytes === null ? 'none' : sizeText(limitBytes),
  ]);
  const rest = found - shown.length;
  return [textTable(['key', 'name', '', 'up', 'down', 'limit'], rows), ...(rest === 0 ? [] : [`and ${rest} more`])];
}

export const keysList = keysCommand<Asked>({
  name: 'keys list',
  flags: [
    valueFlag('search', 'TEXT'),
    ...Object.keys(FILTERS).map(switchFlag),
    valueFlag('sort', 'ORDER', Object.keys(ORDERS)),
    valueFlag('limit', 'N'),
    switchFlag('json'),
    switchFlag('csv'),
  ],
  help: `Usage: keyway keys list [KEY…] [--search TEXT] [--online|--over-limit|…] [--sort ORDER] [--limit N]
                        [--json|--csv]

Lists keys with their traffic. A KEY is the beginning of a key or of a name, or
how a log shows a key.

  --search TEXT    Only keys in which, or in whose name or note, the text stands; case does not count.
  --online         Only those that are online. Of several of these each has to hold.
  --offline        Only those that are not.
  --over-limit     Only those that have used up their limit.
  --without-limit  Only those that have none.
  --unused         Only those without any traffic.
  --sort ORDER     key, name, bytes, up, down, limit or connections; numbers with the largest first.
                   Default: the server's own order.
  --limit N        At most N keys.
  --json           As a JSON array, numbers exact.
  --csv            As "keyway keys export" writes it.`,
  read(reading, flags) {
    const order = reading.value('sort');
    if (order !== null && !Object.hasOwn(ORDERS, order))
      reading.problems.push(`--sort: expected one of ${Object.keys(ORDERS).join(', ')}`);
    const most = reading.value('limit');
    if (most !== null && !/^\d{1,9}$/.test(most)) reading.problems.push('--limit: expected a whole number');
    if (isOn(flags, 'json') && isOn(flags, 'csv'))
      reading.problems.push('--csv: expected either this or --json, not both');
    return {
      words: flags.words,
      search: reading.value('search'),
      filters: Object.keys(FILTERS).filter((name) => isOn(flags, name)),
      order,
      most: most === null ? null : Number(most),
      form: isOn(flags, 'csv') ? 'csv' : isOn(flags, 'json') ? 'json' : 'table',
    };
  },
  keys: ({ words }) => (words.length === 0 ? null : { words, mayBegin: true, elseAll: false }),
  work,
});
