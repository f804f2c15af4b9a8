import './pipelined.test.js';
