import { StartError } from './start-error.js';

/** Splits `host:port`; an IPv6 host stands in brackets and is given without them. Throws a `StartError`. */
export function hostAndPort(bind: string): { readonly host: string; readonly port: number } {
  const [, bracketed, plain = '', port = ''] = /^(?:\[([^\]]+)\]|(.*)):(\d+)$/.exec(bind) ?? [];
  if (port === '' || Number(port) > 65535)
    throw new StartError([`bind: expected host:port with a port up to 65535, found ${JSON.stringify(bind)}`]);
  return { host: bracketed ?? plain, port: Number(port) };
}
