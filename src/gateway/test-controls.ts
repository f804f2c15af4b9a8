import { FAULT_EXPECTED, type Fault, readFault } from '../core/faults.js';
import type { FaultyOptions } from '../northbound/faulty.js';
import type { Mount } from '../northbound/mount.js';
import type { TestHome } from './homes/home.js';
import { stateBytes } from './homes/test-state.js';
import type { TestControls } from './options.js';

/** Returns the fault that a text names. Throws an `Error` for the user. */
export function faultNamed(text: string): Fault {
  const fault = readFault(text);
  if (fault === undefined) throw new Error(`fault: expected ${FAULT_EXPECTED}, got ${JSON.stringify(text)}`);
  return fault;
}

/** Creates the faults and state of a gateway for tests: the app's side, and the side that a test sets. */
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
