import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** So many different ports of 127.0.0.1 on which nobody listens at this moment, for commands that cannot choose one. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port); // They listen on TCP.
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
