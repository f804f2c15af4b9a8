import type { Whole } from '../../src/text/whole.js';
import type { OwnCall, OwnInterface } from './own-interface.js';
import { type DnsQuery, fieldsOf, itemsOf } from './wire.js';

/** A list of the DNS server. Times are milliseconds since the epoch. */
export interface DnsList {
  readonly name: string;
  readonly url: string;
  /** Its names are never blocked. */
  readonly allows: boolean;
  readonly enabled: boolean;
  /** Null while it has no content, like its time. */
  readonly names: Whole | null;
  readonly fetchedAt: number | null;
  /** Why the last refresh kept its old content; null otherwise. */
  readonly error: string | null;
}

/** The DNS server of a Keyway. */
export interface DnsServer {
  /** Why nobody is answered: switched off, its port not open, or no DNS server here. Null where it answers. */
  readonly reason: 'off' | 'waiting' | 'none' | null;
  readonly refreshing: boolean;
  /** Null before the first refresh. */
  readonly refreshedAt: number | null;
  readonly lists: readonly DnsList[];
  /** The questions of today; null where none are counted. */
  readonly today: { readonly since: number; readonly questions: Whole; readonly blocked: Whole } | null;
}

/** Makes a call that answers the state of the DNS server. Rejects with `ApiFailure`. */
export async function askDns(own: OwnInterface, call: Omit<OwnCall, 'path'>, path = ''): Promise<DnsServer> {
  const { members, orNull, text, time } = fieldsOf(await own.ask({ ...call, path: `/dns${path}` }));
  return {
    // One that the page does not know has no words.
    reason: orNull('reason', (name) => text(name) as DnsServer['reason']),
    refreshing: members.refreshing === true,
    refreshedAt: orNull('refreshed_at', time),
    lists: itemsOf(members.lists, (list) => ({
      ...{ name: list.text('name'), url: list.text('url'), allows: list.members.kind === 'allow' },
      ...{ enabled: list.members.enabled === true, names: list.orNull('names', list.whole) },
      ...{ fetchedAt: list.orNull('fetched_at', list.time), error: list.orNull('error', list.text) },
    })),
    today: orNull('today', (name) => {
      const today = fieldsOf(members[name]);
      return { since: today.time('since'), questions: today.whole('questions'), blocked: today.whole('blocked') };
    }),
  };
}

/** Reads the newest questions whose name or client has this part in it, oldest of them first. */
export async function readDnsLog(own: OwnInterface, part: string): Promise<readonly DnsQuery[]> {
  const data = await own.ask({ path: `/dns/log?search=${encodeURIComponent(part)}` });
  const queries = itemsOf(fieldsOf(data).members.entries, ({ text, time }) => ({
    ...{ timestamp: time('time') / 1000, domain: text('name'), client_ip: text('client') },
    ...{ blocked: text('outcome') === 'blocked', failed: text('outcome') === 'failed' },
  }));
  return queries.toReversed();
}
