/** Comparison (a): bare Fastify routes that return a constant object. */
import Fastify from 'fastify';
import { announcePort, endWithParent } from './server-side.js';

const status = {
  ok: true,
  data: { version: '0.3.6', uptime_seconds: 12345, active_users: 99999, total_users: 100000 },
};
const user = {
  ok: true,
  data: {
    access_key: '0c9e8d7f6a5b4c3d2e1f00112233ff44',
    name: 'Customer 12345',
    bytes_up: 11111222222,
    bytes_down: 999999000000,
    connections: 1,
    limit_bytes: 53687091200,
    online: true,
    last_seen: null,
  },
};

const app = Fastify();
app.get('/status', () => status);
app.get('/user', () => user);
await app.listen({ host: '127.0.0.1', port: 0 });
endWithParent(() => app.close());
announcePort(app.server);
