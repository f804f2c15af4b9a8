import { open } from 'node:fs/promises';

/** The static token of every file of the bench. */
export const TOKEN = 'bench-static-token';

/** A key as the bench's files hold it. */
export interface SampleKey {
  readonly access_key: string;
  readonly name?: string;
  readonly limit_bytes?: number;
}

export interface SampleCounters {
  readonly bytesUp: number;
  readonly bytesDown: number;
  readonly connections: number;
}

/** The key with this number: 32 hexadecimal digits, the same in every process. */
export function sampleKeyName(index: number): string {
  return [1, 2, 3, 4]
    .map((salt) =>
      mix(index * 4 + salt)
        .toString(16)
        .padStart(8, '0'),
    )
    .join('');
}

/** A quarter of the keys each: bare, with a name, with a limit, with both. */
export function sampleKey(index: number): SampleKey {
  const access_key = sampleKeyName(index);
  const name = index % 2 === 1 ? { name: `Customer ${index}` } : {};
  const limit = index % 4 > 1 ? { limit_bytes: ((index % 100) + 1) * 1_073_741_824 } : {};
  return { access_key, ...name, ...limit };
}

/** Traffic such as a month leaves it: up to a terabyte, in no order; one key in ten is connected. */
export function sampleCounters(index: number, round = 0): SampleCounters {
  const bytesDown = (mix(index ^ 0x5bd1e995) % 1_000_000) * 1_000_003 + round * 65_536;
  return { bytesUp: Math.floor(bytesDown / 9), bytesDown, connections: mix(index) % 10 === 0 ? 1 + (index % 3) : 0 };
}

/** A 32-bit number that looks like chance (an integer hash: multiplications and shifts that can be undone). */
function mix(value: number): number {
  let x = value | 0;
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}

/** Writes a server's configuration file with so many keys, pretty-printed as servers write it, without comments. */
export async function writeSampleFile(path: string, keys: number): Promise<void> {
  const file = await open(path, 'w', 0o600);
  try {
    const api = { enabled: true, bind: '127.0.0.1:0', token: TOKEN, webpath: '', username: '', password_hash: '' };
    const frame = JSON.stringify(
      { mode: 'server', listen: '203.0.113.7:50000', log_level: 'info', api, access_keys: [] },
      null,
      2,
    );
    await file.write(frame.slice(0, frame.lastIndexOf(']')));
    for (let from = 0; from < keys; from += 10_000) {
      const part = Array.from({ length: Math.min(10_000, keys - from) }, (_, i) => elementText(from + i));
      await file.write(`${from === 0 ? '\n' : ',\n'}${part.join(',\n')}`);
    }
    await file.write('\n  ]\n}\n');
  } finally {
    await file.close();
  }
}

function elementText(index: number): string {
  const key = sampleKey(index);
  const isBare = Object.keys(key).length === 1;
  return `    ${JSON.stringify(isBare ? key.access_key : key, null, 2).replaceAll('\n', '\n    ')}`;
}
