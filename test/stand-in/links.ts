import type { Server } from './operations.js';

/** The links of a key over both carriers, without a name. */
export function linksOf(server: Server, key: string): { readonly tls: string | null; readonly udp: string } {
  const { announced, memory } = server;
  const spelled = encodeURIComponent(key).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  const isOn = memory.sections.dns === null ? memory.start.published.dnsEnabled : memory.sections.dns.enabled === true;
  const own = isOn ? '&owndns=true' : '';
  const at = (host: string, port: number) => `ostp://${spelled}@${host.includes(':') ? `[${host}]` : host}:${port}`;
  const { tls, domain } = memory.start.published;
  const over = server.tlsHost === null ? tls : { port: 443, path: null };
  const host = server.tlsHost ?? domain ?? '';
  const path = over?.path == null ? '' : `&path=${encodeURIComponent(over.path)}`;
  return {
    tls: over === null ? null : `${at(host, over.port)}?type=uot&tls=1${path}${own}`,
    udp: `${at(announced.host, announced.port)}?type=udp${own}`,
  };
}
