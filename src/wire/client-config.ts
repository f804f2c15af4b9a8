import type { Encodable } from './json/write-json.js';

/** Returns the client configuration object (protocol: "Client configuration object"); `server` is `host:port`. */
export function clientConfig(accessKey: string, server: string): { readonly [name: string]: Encodable } {
  return {
    mode: 'client',
    server,
    access_key: accessKey,
    socks5_bind: '127.0.0.1:1088',
    tun: { enable: false, dns: '1.1.1.1' },
    exclude: { domains: [], ips: [], processes: [] },
    turn: { enabled: false },
    mux: { enabled: false, sessions: 1 },
    debug: false,
  };
}
