import { createServer, type Server } from 'node:http';
import { Registry } from 'prom-client';
import { counter, type Family, gauge } from '../ops/family.js';
import { registerFamilies } from '../ops/register-families.js';
import type { ClientRow } from './client-rows.js';
import type { ShadowReport } from './tally.js';

/**
 * Answers `/report` with the report as JSON and `/metrics` with its counts, to whoever asks: nothing in them is secret.
 * Rejects when it cannot listen.
 */
export async function serveReport(
  listen: { readonly host: string; readonly port: number },
  report: () => ShadowReport | null,
): Promise<Server> {
  const registry = new Registry();
  registerFamilies(registry, families(report));
  const server = createServer(async ({ method, url }, response) => {
    response.setHeader('cache-control', 'no-store');
    if (method !== 'GET' && method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD', connection: 'close' }).end();
    } else if (url === '/report') {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(report()));
    } else if (url === '/metrics') {
      response.setHeader('content-type', registry.contentType);
      response.end(await registry.metrics());
    } else response.writeHead(404).end();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(listen, resolve);
  });
  return server;
}

const OUTCOMES = ['equal', 'expected', 'different'] as const;

function families(report: () => ShadowReport | null): readonly Family[] {
  const sum = (count: (row: ClientRow) => number) => (report()?.rows ?? []).reduce((all, row) => all + count(row), 0);
  const kinds = (isExplained: boolean) =>
    (report()?.differences ?? []).filter(({ because }) => (because !== null) === isExplained).length;
  return [
    counter(
      'keyway_shadow_requests_total',
      'Requests of clients, by what came of holding the two answers together.',
      () => [
        ...OUTCOMES.map((outcome) => ({ labels: { outcome }, value: sum((row) => row[outcome]) })),
        {
          labels: { outcome: 'not_compared' },
          value: sum((row) => Object.values(row.leftOut).reduce((a, b) => a + b, 0)),
        },
      ],
      ['outcome'],
    ),
    gauge(
      'keyway_shadow_difference_kinds',
      'Kinds of differences, by whether the lines or the register explain them.',
      () => [
        { labels: { explained: 'yes' }, value: kinds(true) },
        { labels: { explained: 'no' }, value: kinds(false) },
      ],
      ['explained'],
    ),
  ];
}
