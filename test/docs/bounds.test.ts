import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

/** Where the number of each row of the table stands in the code: its constants by their names, by the file that has them. */
const ROWS: Readonly<Record<string, readonly (readonly [file: string, ...names: string[]])[]>> = {
  'requests in work': [['sockets/request-queue', 'MOST_OF_STRANGER', 'MOST_OF_KNOWN']],
  'questions of DNS over TCP that wait': [['dns/tcp', 'waiting']],
  'calls that wait for a change': [['core/long-polls', 'MOST_OF_ONE']],
  streams: [['own-api/streams', 'MOST_STREAMS']],
  'lists of keys, events and items of batches that are made or not taken': [['own-api/large-answers', 'MOST_OF_ONE']],
  'batches that wait': [
    ['own-api/jobs', 'MOST_OF_TOKEN', 'MOST_WAITING', 'MOST_WAITING_CHARACTERS'],
    ['own-api/rows/jobs', 'MOST_ITEMS', 'BATCH_BODY_LIMIT'],
  ],
  'batches that have ended': [['own-api/jobs', 'MOST_ENDED', 'MOST_ENDED_CHARACTERS']],
  '`Idempotency-Key`s': [['own-api/ended-onces', 'MOST_OF_OWNER']],
  'rotations that are not done': [['own-api/rotations', 'MOST_BEGUN']],
  'events, for seven days': [['own-api/events', 'MOST_EVENTS', 'MOST_CHARACTERS']],
  'removed keys whose makers are known, for an hour': [['core/keys/key-makers', 'MOST_GONE']],
  'counters of keys that left the file, for 30 days': [['core/keys/removed-keys', 'MOST_REMOVED']],
  'programs in usage': [['core/operation-use', 'MOST_PROGRAMS_OF_ONE']],
  'pages of `GET keys` that may go on': [['own-api/key-pages', 'MOST']],
  'a patch': [['document/patch/patch', 'MOST_OPERATIONS', 'MOST_COPIED']],
  connections: [
    ['settings/table', 'default'],
    ['sockets/open-connections', 'SHARE'],
  ],
  'connections of DNS over TCP': [['dns/tcp', 'connections']],
  'wrong tokens': [['core/token-guard', 'MOST_WRONG']],
  'logins that are looked at or wait': [['northbound/login', 'MOST_OF_NETWORK', 'MOST_WAITING']],
  'bytes sent without a credential': [['northbound/stranger-rate', 'PER_SECOND', 'BURST']],
  'requests that wait for their connection': [['sockets/request-queue', 'MOST_WAITING']],
  'bodies without an accepted credential': [['northbound/body-budget', 'BODY_BUDGET']],
  'requests without a credential that wait for an answer from elsewhere': [['core/strangers-waiting', 'MOST_WAITING']],
  'calls to the server behind without a credential': [['homes/upstream/stranger-gate', 'MOST_AT_ONCE', 'MOST_WAITING']],
  'connections to the server behind': [['client/running-server', 'CONNECTIONS']],
  'creates that wait for a database': [['homes/database/shared-creates', 'MOST_WAITING', 'MOST_WAITING_CHARACTERS']],
  'counters that wait for a database': [['homes/database/counting', 'MOST_WAITING']],
  'connections to a database': [['homes/database/backend', 'WRITING', 'COUNTING', 'READING', 'ASKING']],
  'names that the resolver asks for': [['dns/forwarder', 'MOST_FLIGHTS']],
};

/** Constants with a name as those above have that bound no work in flight, each with what it bounds. */
const OTHERS: Readonly<Record<string, string>> = {
  'dns/channel MOST_CONNECTIONS': 'connections to an upstream of the resolver, which ask for the names above',
  'dns/channel MOST_STREAMS': 'the same on one connection',
  'dns/stream-upstream MOST_CONNECTIONS': 'the same for DNS over TLS and TCP',
};

const NUMBER = /\d[\d,]*(?:\/\d+)?(?: (?:KiB|MiB))?/g;
const UNITS: Readonly<Record<string, number>> = { KiB: 2 ** 10, MiB: 2 ** 20 };

function numberIn(text: string): number {
  const [digits = '', unit = ''] = text.split(' ');
  const [over = '', under = '1'] = digits.replaceAll(',', '').split('/');
  return (Number(over) / Number(under)) * (UNITS[unit] ?? 1);
}

/** The value of a constant, which is a product, a power or a fraction of numbers. */
function constantOf(file: string, name: string): number {
  const text = readFileSync(`src/${file}.ts`, 'utf8');
  const found = new RegExp(
    name === name.toUpperCase() ? `^(?:export )?const ${name} = (.+);$` : `^ +${name}: (\\d[\\d_]*),$`,
    'm',
  ).exec(text)?.[1];
  const [over = '', under = '1'] = (found ?? '').replaceAll('_', '').split(' / ');
  const factors = over.split(/(?<!\*) \* /).map((factor) => {
    const [base, exponent = '1'] = factor.split(' ** ');
    return Number(base) ** Number(exponent);
  });
  return factors.reduce((product, factor) => product * factor, 1) / Number(under);
}

/** The cells of each row of the table, by its first. */
function rowsOf(markdown: string): ReadonlyMap<string, string> {
  const [, section = ''] = markdown.split('## What is bounded\n');
  const lines = (section.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('| '));
  return new Map(
    lines.slice(1).map((line) => {
      const [, what = '', most = ''] = line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, ''));
      return [what, most];
    }),
  );
}

describe('the table of bounds in docs/security.md', () => {
  const rows = rowsOf(readFileSync('docs/security.md', 'utf8'));

  it('has a row for each bound on work in flight, and no other', () => {
    expect([...rows.keys()].sort()).toEqual(Object.keys(ROWS).sort());
  });

  it.each(Object.entries(ROWS))('says of %s the numbers of the code', (what, places) => {
    const said = (rows.get(what)?.match(NUMBER) ?? []).map(numberIn);
    const values = places.flatMap(([file, ...names]) => names.map((name) => constantOf(file, name)));
    expect(said).toEqual(values);
  });

  it('misses no constant of the code that bounds what waits, runs or is open', () => {
    const known = new Set([
      ...Object.keys(OTHERS),
      ...Object.values(ROWS).flatMap((places) =>
        places.flatMap(([file, ...names]) => names.map((name) => `${file} ${name}`)),
      ),
    ]);
    const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
    const found = files.flatMap((file) => {
      const names = readFileSync(`src/${file}`, 'utf8').matchAll(
        /^(?:export )?const (MOST_(?:WAITING|OF_|AT_ONCE|STREAMS|CONNECTIONS|FLIGHTS|BEGUN|ENDED|OPERATIONS|COPIED)\w*) = /gm,
      );
      return [...names].map(([, name]) => `${file.replace(/\.ts$/, '')} ${name}`);
    });
    expect(found.filter((each) => !known.has(each))).toEqual([]);
  });
});
