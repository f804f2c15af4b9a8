import './misbehaviour.test.js';
