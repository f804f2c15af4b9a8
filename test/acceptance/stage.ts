/** The acceptance tests stand on the same embedded core as `keyway replay`. */
export { type StagedGateway, stageScenario } from '../../src/embedded/stage.js';
