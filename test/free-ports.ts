import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { askShared } from './shared.js';

/** A port of 127.0.0.1 for what cannot choose one itself. No other test of the run gets it, and no connection begins there. */
export async function freePort(): Promise<number> {
  return Number(await askShared('port'));
}

export async function freePorts(count: number): Promise<readonly number[]> {
  return Promise.all(Array.from({ length: count }, freePort));
}

/** Below what systems and people use by name. */
const LOWEST = 10_000;
/** Where the system begins with the ports that it gives to connections. */
const SYSTEM_RANGE = '/proc/sys/net/ipv4/ip_local_port_range';
const USUAL_BEGIN = 32_768;

/** Gives each port once, in a random order of runs, and only those on which nobody listens at that moment. */
export async function createPortGiver(random: () => number = Math.random): Promise<() => Promise<number>> {
  const range = await readFile(SYSTEM_RANGE, 'utf8').catch(() => '');
  const begin = Number(/\d+/.exec(range)?.[0] ?? USUAL_BEGIN);
  const end = begin > LOWEST + 1000 ? begin : USUAL_BEGIN;
  let next = LOWEST + Math.floor(random() * (end - LOWEST));
  return async () => {
    for (let tried = LOWEST; tried < end; tried += 1) {
      const port = next;
      next = port + 1 < end ? port + 1 : LOWEST;
      if (await isFree(port)) return port;
    }
    throw new Error(`no port from ${LOWEST} to ${end} is free`);
  };
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const socket = createSocket('udp4');
  try {
    server.listen(port, '0.0.0.0');
    await once(server, 'listening');
    socket.bind(port, '0.0.0.0');
    await once(socket, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    socket.close();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  }
}
