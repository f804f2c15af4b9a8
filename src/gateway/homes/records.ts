import { type KeptRecords, LocalRecords } from '../../core/kept-records.js';
import type { ClockPort, FileSystemPort, LogPort, RandomPort } from '../../core/ports.js';
import { inDataFolder } from '../../files/foreign.js';
import { holdForServing } from '../../files/hold.js';
import { lockPorts } from '../../files/lock.js';
import { openRecordsFile } from '../../files/records-file.js';
import type { HomePlace, HomePlaceOf } from '../../settings/home.js';

/** The outside world of commands over Keyway's own records. */
export interface RecordsPorts {
  readonly fileSystem: FileSystemPort;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly log: LogPort;
}

/** Keyway's own records of a state that no gateway serves at present, or that gateways share. */
export interface OpenRecords {
  readonly records: KeptRecords;
  close(): Promise<void>;
}

type Open<Kind extends HomePlace['kind']> = (place: HomePlaceOf<Kind>, ports: RecordsPorts) => Promise<OpenRecords>;

const OPENERS: { readonly [Kind in HomePlace['kind']]: Open<Kind> } = {
  file: ({ path, dataFolder }, ports) => inFolder(dataFolder, { configurationPath: path }, ports),
  memory: ({ dataFolder }, ports) => inFolder(dataFolder, { configurationPath: null }, ports),
  upstream: ({ origin, dataFolder }, ports) => inFolder(dataFolder, { configurationPath: null, owner: origin }, ports),
  test: async () => ({ records: new LocalRecords(), close: async () => undefined }),
  database: async ({ url }, { random }) =>
    (await import('../../homes/database/records.js')).openDatabaseRecords(url, random),
};

/** Opens the records at a place. Rejects with an `Error` for the user, also if a Keyway is serving from there. */
export async function openRecords(place: HomePlace, ports: RecordsPorts): Promise<OpenRecords> {
  return open(place, ports);
}

function open<Kind extends HomePlace['kind']>(place: HomePlaceOf<Kind>, ports: RecordsPorts): Promise<OpenRecords> {
  return OPENERS[place.kind](place, ports);
}

async function inFolder(
  dataFolder: string | null,
  whose: { readonly configurationPath: string | null; readonly owner?: string },
  { fileSystem, log }: RecordsPorts,
): Promise<OpenRecords> {
  if (dataFolder === null)
    throw new Error('without a data folder what Keyway keeps of its own ends with it: name one with --data-dir');
  return inDataFolder(fileSystem, { dataFolder, configPath: whose.configurationPath }, async () => {
    const hold = await holdForServing({ ...lockPorts(fileSystem), ...whose, log, dataFolder, lookMilliseconds: 0 });
    try {
      const records = await openRecordsFile({ fileSystem, folder: hold.folder.path, log });
      return {
        records,
        async close() {
          await records.close();
          await hold.release();
        },
      };
    } catch (error) {
      await hold.release();
      throw error;
    }
  });
}
