import './replay.test.js';
