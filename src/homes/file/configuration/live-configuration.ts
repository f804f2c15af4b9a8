import type { ConfigurationChange, ServerConfiguration } from '../../../core/model.js';
import { changeCount, layOver, mergeChanges } from './pending-changes.js';

/** The configuration that is live: what was read last, with the changes that were written since laid over it. */
export interface LiveConfiguration {
  present(): ServerConfiguration;
  /** A change was written into the file. */
  wrote(change: ConfigurationChange): void;
  /** Another configuration was read. */
  becomes(configuration: ServerConfiguration): void;
}

/** Laying over goes through all keys: changes are gathered until there are so many. */
const GATHERED = 4096;

export function createLiveConfiguration(initial: ServerConfiguration): LiveConfiguration {
  let read = initial;
  let written: ConfigurationChange = {};

  function present(): ServerConfiguration {
    read = layOver(read, written);
    written = {};
    return read;
  }

  return {
    present,
    wrote: (change) => {
      written = mergeChanges(written, change);
      if (changeCount(written) > GATHERED) present();
    },
    becomes: (configuration) => {
      read = configuration;
      written = {};
    },
  };
}
