import { connect } from 'node:net';
import type { LogPort } from '../core/ports.js';
import { addressClashes, parseHostPort } from '../settings/bind-address.js';
import type { Prepared } from './prepare.js';

/** Milliseconds; a closed port on this machine refuses immediately. */
const CONNECT_MS = 500;

/**
 * Tells whether another process, probably the server itself, listens on the address that the file gives the server's
 * API while Keyway listens on another one. If so, logs what Keyway cannot do without the server's API.
 */
export async function isBesideServer({ settings, gateway, bind }: Prepared, log: LogPort): Promise<boolean> {
  const { listener = null, dns = null } = gateway.home.serverBeside() ?? {};
  const address = listener?.enabled ? reachable(listener.bind) : null;
  if (listener === null || address === null) return false;
  const isOwn =
    addressClashes([
      { name: 'the file', bind: listener.bind },
      { name: 'the API', bind },
    ]).length > 0;
  if (isOwn || !(await isListening(address))) return false;
  const webpath = listener.webpath.replace(/^\/+|\/+$/g, '');
  const line = `keyway serve --upstream http://${hostPort(address)}${webpath === '' ? '' : `/${webpath}`}`;
  log.warn({ address: listener.bind }, `${BESIDE} ${line}`);
  if (dns?.enabled && settings.embeddedResolver === null) log.info({ port: dns.localPort }, DNS_LEFT);
  return true;
}

const BESIDE =
  "another process listens on the address that the file gives the server's API, likely the server itself: through its file alone Keyway has no counters of its traffic and resets none, and rules and DNS settings reach it at its restart. Over its API it has all of that:";
const DNS_LEFT = "the DNS port is left to the server: --resolver asks for Keyway's own DNS server";

/** Returns the address that reaches a listening address; null if there is none. */
function reachable(bind: string): { readonly host: string; readonly port: number } | null {
  if (!URL.canParse(`http://${bind}`)) return null;
  const { hostname } = new URL(`http://${bind}`);
  const { host, port } = parseHostPort(bind);
  if (port === 0 || hostname === '') return null;
  return { host: ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host, port };
}

async function isListening(address: { readonly host: string; readonly port: number }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ ...address, timeout: CONNECT_MS });
    const done = (isThere: boolean) => () => {
      socket.destroy();
      resolve(isThere);
    };
    // If this process itself was paused, pending events are handled before the timeout counts.
    socket.once('timeout', () => setImmediate(done(false)));
    socket.once('connect', done(true)).once('error', done(false));
  });
}

function hostPort({ host, port }: { readonly host: string; readonly port: number }): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
