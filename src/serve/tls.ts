import { createPrivateKey, type KeyObject } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import { createSecureContext, type SecureVersion } from 'node:tls';
import { FILE_LIMITS } from '../core/file-limits.js';
import type { ClockPort, FileSystemPort, LogPort } from '../core/ports.js';
import type { AppOptions } from '../northbound/app-options.js';
import { failureCode, failureWords } from '../platform/failure-words.js';
import { StartError } from '../platform/start-error.js';
import { parseCertificate } from '../platform/trusted.js';

/** Paths of a certificate, followed by its chain, and of its private key, both PEM. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

export interface TlsPorts {
  readonly fileSystem: FileSystemPort;
  readonly clock: ClockPort;
  readonly log: LogPort;
  /** Milliseconds that a handshake may take; default as long as headers may. */
  readonly handshakeTimeout?: number;
}

/** The certificate that is served, for HTTP/1.1 over TLS 1.2 and later. */
export interface Tls {
  readonly createServer: NonNullable<AppOptions['createServer']>;
  /**
   * Reads both files again, for new connections. If they cannot be used, that is one line in the log, and the previous
   * certificate stays in use.
   */
  reload(): Promise<void>;
}

/** A certificate and its key, which fit; every server of this listener uses them. */
interface Pair {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Milliseconds since the epoch. */
  readonly validTo: number;
}

const LEAST_VERSION: SecureVersion = 'TLSv1.2';

/** Milliseconds. */
const HANDSHAKE_TIMEOUT = 15_000;

/** Reads a certificate and its key. Rejects with a `StartError` that names the flag of the unusable file. */
export async function openTls(files: TlsFiles, ports: TlsPorts): Promise<Tls> {
  const { fileSystem, clock, log, handshakeTimeout = HANDSHAKE_TIMEOUT } = ports;
  let pair = await readPair(files, fileSystem);
  const servers = new Set<Server>();
  let reading = Promise.resolve();
  warnOfExpiry();

  function warnOfExpiry(): void {
    if (pair.validTo > clock.now()) return;
    log.warn(
      { certificate: files.cert, valid_to: new Date(pair.validTo).toISOString() },
      'the certificate has expired',
    );
  }

  async function readAgain(): Promise<void> {
    try {
      pair = await readPair(files, fileSystem);
    } catch (error) {
      const problems = error instanceof StartError ? error.problems : [failureWords(error)];
      log.error({}, `${problems.join('; ')}; the certificate before goes on being served`);
      return;
    }
    const { cert, key, validTo } = pair;
    for (const server of servers) server.setSecureContext({ cert, key, minVersion: LEAST_VERSION });
    const fields = { certificate: files.cert, valid_to: new Date(validTo).toISOString() };
    log.info(fields, 'the certificate was read again: new connections get it');
    warnOfExpiry();
  }

  return {
    createServer(options, listener) {
      const secure = { cert: pair.cert, key: pair.key, minVersion: LEAST_VERSION, handshakeTimeout };
      const server = createServer({ ...options, ...secure }, listener);
      // Without a handshake no answer can be sent, and an unsent answer would keep the connection forever.
      server.prependListener('tlsClientError', (_error, socket) => socket.destroy());
      servers.add(server);
      server.once('close', () => servers.delete(server));
      return server;
    },
    reload() {
      // One after the other, so that the last read wins.
      reading = reading.then(readAgain);
      return reading;
    },
  };
}

/**
 * Returns what makes the server of an address with TLS; undefined for a plain one, such as a Unix socket, which serves
 * proxies on this machine.
 */
export function tlsAt(bind: string, tls: Tls | null): Tls['createServer'] | undefined {
  return tls === null || bind.startsWith('unix:') ? undefined : tls.createServer;
}

async function readPair(files: TlsFiles, fileSystem: FileSystemPort): Promise<Pair> {
  const problems: string[] = [];
  async function readAs<T>(flag: string, path: string, expected: string, parse: (bytes: Buffer) => T) {
    try {
      const bytes = await fileSystem.read(path, FILE_LIMITS.certificate);
      try {
        return { bytes, parsed: parse(bytes) };
      } catch {
        problems.push(`--${flag}: expected ${expected} in ${path}`);
      }
    } catch (error) {
      problems.push(`--${flag}: cannot read ${path}: ${failureWords(error)}`);
    }
    return null;
  }
  const cert = await readAs('tls-cert', files.cert, 'a certificate in PEM, its chain behind it,', parseCertificate);
  const key = await readAs('tls-key', files.key, 'a private key in PEM without a passphrase', parseKey);
  if (cert === null || key === null) throw new StartError(problems);
  if (!cert.parsed.checkPrivateKey(key.parsed))
    throw new StartError([`--tls-key: the key in ${files.key} does not belong to the certificate in ${files.cert}`]);
  try {
    createSecureContext({ cert: cert.bytes, key: key.bytes, minVersion: LEAST_VERSION });
  } catch (error) {
    throw new StartError([`--tls-cert: ${files.cert} cannot be served (${failureCode(error) ?? 'unusable'})`]);
  }
  return { cert: cert.bytes, key: key.bytes, validTo: Date.parse(cert.parsed.validTo) };
}

function parseKey(bytes: Buffer): KeyObject {
  return createPrivateKey({ key: bytes, format: 'pem' });
}
