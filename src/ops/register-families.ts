import { Counter, Gauge, type Registry } from 'prom-client';
import type { Family, Sample } from './family.js';

/** Adds the families to a registry. It has a file of its own because the Prometheus library takes long to load. */
export function registerFamilies(registry: Registry, families: readonly Family[]): void {
  for (const family of families) registerFamily(registry, family);
}

function registerFamily(registry: Registry, { type, read, ...family }: Family): void {
  const samples = async (): Promise<readonly Sample[]> => {
    const found = await read();
    return typeof found === 'number' ? [{ value: found }] : found;
  };
  const configuration = { ...family, registers: [registry] };
  // Each reading resets the metric, so that series which are gone disappear.
  if (type === 'counter') {
    new Counter({
      ...configuration,
      async collect() {
        const found = await samples();
        this.reset();
        for (const { labels = {}, value } of found) this.inc(labels, value);
      },
    });
    return;
  }
  new Gauge({
    ...configuration,
    async collect() {
      const found = await samples();
      this.reset();
      for (const { labels = {}, value } of found) this.set(labels, value);
    },
  });
}
