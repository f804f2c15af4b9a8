import './record.test.js';
