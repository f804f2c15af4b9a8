import type { FastifyInstance } from 'fastify';
import { onTestFinished } from 'vitest';
import { createGateway, type GatewayOptions } from '../../src/index.js';

/** SHA-256 of `password`. */
export const PASSWORD_HASH = '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8';

/** A gateway without a configuration file that closes with the test. */
export async function gatewayForTest(options: GatewayOptions): Promise<FastifyInstance> {
  const app = await createGateway({ loginGuard: 'off', ...options });
  onTestFinished(() => app.close());
  return app;
}

/** Listens on a free loopback port and returns it. */
export async function listen(app: FastifyInstance): Promise<number> {
  await app.listen({ host: '127.0.0.1', port: 0 });
  const address = app.server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no address');
  return address.port;
}
