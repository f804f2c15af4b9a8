/** The acceptance tests stand on the same embedded core as `keyway replay`. */
export { type StagedGateway, stageScenario } from '../../src/embedded/stage.js';

/** For gateways within the test's own process: a machine that stands still is no gateway that does not answer. */
export const PATIENT = { timeoutMilliseconds: 100_000 };
