import './event-actors.test.js';
