import { Counter, Gauge, type Registry } from 'prom-client';

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels?: Labels;
  readonly value: number;
}

/** A metric whose values are read when somebody asks for them. */
export interface Family {
  /** By the Prometheus conventions: a counter ends in `_total`, a unit is a base unit and stands before that. */
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly labelNames: readonly string[];
  /** Its cost must not depend on the number of keys. */
  read(): number | readonly Sample[] | Promise<readonly Sample[]>;
}

type Labelled = readonly string[];

export const counter = (name: string, help: string, read: Family['read'], labelNames: Labelled = []): Family => ({
  name,
  help,
  type: 'counter',
  read,
  labelNames,
});

export const gauge = (name: string, help: string, read: Family['read'], labelNames: Labelled = []): Family => ({
  ...counter(name, help, read, labelNames),
  type: 'gauge',
});

export function registerFamilies(registry: Registry, families: readonly Family[]): void {
  for (const family of families) registerFamily(registry, family);
}

function registerFamily(registry: Registry, { type, read, ...family }: Family): void {
  const samples = async (): Promise<readonly Sample[]> => {
    const found = await read();
    return typeof found === 'number' ? [{ value: found }] : found;
  };
  const configuration = { ...family, registers: [registry] };
  // Every reading starts anew, so that figures which are gone do not stay.
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
