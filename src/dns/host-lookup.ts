import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Finds the addresses of the hosts that the resolver itself calls, never by asking itself. */
export type HostLookup = ReturnType<typeof createHostLookup>;

export interface HostLookupOptions {
  /** Returns the address of a custom domain with exactly this name, or null. */
  readonly custom: (host: string) => string | null;
  /** Returns where the resolver itself listens, or null. */
  readonly own: () => { readonly address: string; readonly port: number } | null;
  /** Returns the machine's name servers in the form of `Resolver.getServers`, which is the default. */
  readonly nameServers?: (() => readonly string[]) | undefined;
}

/**
 * Looks up by the machine's own means (hosts file, name servers). If one of its name servers is this resolver, the
 * others are asked instead; if there are no others, the look-up fails with advice.
 */
export function createHostLookup({ custom, own, nameServers }: HostLookupOptions) {
  const running = new Map<string, Promise<readonly string[]>>();

  async function find(host: string): Promise<readonly string[]> {
    // A new resolver reads the system's present settings.
    const servers = nameServers?.() ?? new Resolver().getServers();
    const others = servers.filter((server) => !isOwn(server, own()));
    if (others.length === servers.length) return (await lookup(host, { all: true })).map(({ address }) => address);
    if (others.length === 0) {
      throw new Error(
        `${host} cannot be looked up: this machine asks only Keyway; give it an address in custom_domains`,
      );
    }
    return askServers(others, host);
  }

  return {
    /** Returns at least one address, or rejects. A custom domain takes precedence over what the machine knows. */
    async addresses(host: string): Promise<readonly string[]> {
      if (isIP(host) !== 0) return [host];
      const known = custom(host);
      if (known !== null) return [known];
      const name = host.toLowerCase();
      const present = running.get(name) ?? find(name).finally(() => running.delete(name));
      running.set(name, present);
      return present;
    },
    /** Tells whether this name is being looked up: answering it by asking the upstream would deadlock. */
    underWay: (name: string): boolean => running.has(name),
  };
}

async function askServers(servers: readonly string[], host: string): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: 2000, tries: 2 });
  resolver.setServers(servers);
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const found = [v4, v6].flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  if (found.length === 0) throw v4.status === 'rejected' ? v4.reason : new Error(`${host} has no address`);
  return found;
}

/** Tells whether a name server (in the form of `getServers`) is this resolver. */
function isOwn(server: string, own: { readonly address: string; readonly port: number } | null): boolean {
  if (own === null) return false;
  const [, bracketed, bracketedPort] = /^\[([^\]]+)\](?::(\d+))?$/.exec(server) ?? [];
  const [, plain, plainPort] = /^([\d.]+)(?::(\d+))?$/.exec(server) ?? [];
  const address = bracketed ?? plain ?? server;
  if (Number(bracketedPort ?? plainPort ?? 53) !== own.port) return false;
  if (own.address !== '0.0.0.0' && own.address !== '::') return address === own.address;
  const local = Object.values(networkInterfaces()).flatMap((entries) => (entries ?? []).map((entry) => entry.address));
  return local.includes(address) || address.startsWith('127.');
}
