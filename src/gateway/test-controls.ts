import { FAULT_EXPECTED, type Fault, readFault } from '../core/faults.js';
import type { FaultyOptions } from '../northbound/faulty.js';
import type { Mount } from '../northbound/mount.js';
import type { TestHome } from './homes/home.js';
import { stateBytes } from './homes/test-state.js';
import type { TestControls } from './options.js';

/** The fault that a text names. Throws an `Error` whose message is for people. */
export function faultNamed(text: string): Fault {
  const fault = readFault(text);
  if (fault === undefined) throw new Error(`fault: expected ${FAULT_EXPECTED}, got ${JSON.stringify(text)}`);
  return fault;
}

/** The faults and the state of a gateway for tests: as its app suffers them, and as a test sets them. */
export function createTestControls(
  { faults, replaceState }: TestHome,
  mounts: readonly Mount[],
): { readonly controls: TestControls; readonly faulty: Omit<FaultyOptions, 'credentials'> } {
  const setFault = (text: string): void => {
    const fault = faultNamed(text);
    faults.set(fault);
    if (fault.kind === 'signed-out') for (const { session } of mounts) void session.end();
  };
  return {
    controls: { fault: setFault, replaceState: async (state) => replaceState(stateBytes(state)) },
    faulty: { next: () => faults.next(), setFault, replaceState },
  };
}
