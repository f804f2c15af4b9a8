import type { IncomingMessage } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { sendFailure } from './answers.js';
import type { RouteObserver } from './request-observer.js';

/** The part of a request that tells which host it was sent to. */
export type AddressedRequest = Pick<IncomingMessage, 'url' | 'rawHeaders'>;

/** Tells whether a request may be answered, by the host that it was sent to. */
export type HostCheck = (request: AddressedRequest) => boolean;

/** RFC 9110, 15.5.20. */
const MISDIRECTED = 421;

/** The text for a refused request. It repeats nothing of the request and names no allowed host. */
const MISDIRECTED_WORDS = 'misdirected request: its host is not one of the names given with --allow-host';

/**
 * Admits requests to these hosts only, against DNS rebinding: a page whose name was made to resolve to this machine
 * sends that name. Case, a trailing dot and the port are ignored. IP addresses and `localhost` always pass, because no
 * foreign page can have such a name (RFC 6761, 6.3). `X-Forwarded-Host` is not read. Returns null, for no check, when
 * no names are given.
 */
export function createHostCheck(names: readonly string[]): HostCheck | null {
  if (names.length === 0) return null;
  const allowed = new Set(names.map(comparable));
  const isAllowed = (host: string) => isAddress(host) || isLocalhost(host) || allowed.has(host);
  return (request) => {
    const hosts = hostsOf(request);
    return hosts.length > 0 && hosts.every((host) => host !== null && isAllowed(host));
  };
}

/** Makes the app answer requests to other hosts with 421 before it does anything else; does nothing without names. */
export function refuseOtherHosts(app: FastifyInstance, names: readonly string[], observer: RouteObserver): void {
  const admits = createHostCheck(names);
  if (admits === null) return;
  app.addHook('onRequest', (request, reply, done) => {
    if (admits(request.raw)) return done();
    observer.begun(request);
    sendFailure(reply, MISDIRECTED, MISDIRECTED_WORDS);
    observer.answered(request, reply);
  });
}

/**
 * Lists a request's hosts: the authority of a target that is a whole URL, else each `Host` (RFC 9112, 3.2.2). All must
 * be allowed: Node looks at the first one only, and a proxy in front of it may have looked at the last.
 */
function hostsOf({ url = '', rawHeaders }: AddressedRequest): readonly (string | null)[] {
  const [, authority] = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(url) ?? [];
  if (authority !== undefined) return [hostOf(authority)];
  const isHost = (_: string, index: number) => rawHeaders[index - 1]?.toLowerCase() === 'host' && index % 2 === 1;
  return rawHeaders.filter(isHost).map(hostOf);
}

/** Normalizes the host of `host[:port]` for comparison; null if the text is not of that form. */
function hostOf(value: string): string | null {
  const [, host] = /^(\[[^\]]*\]|[^:@\s]+)(?::\d*)?$/.exec(value) ?? [];
  return host === undefined ? null : comparable(host);
}

function comparable(host: string): string {
  return host.toLowerCase().replace(/\.$/, '');
}

function isAddress(host: string): boolean {
  return isIPv4(host) || (host.startsWith('[') && isIPv6(host.slice(1, -1)));
}

function isLocalhost(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}
