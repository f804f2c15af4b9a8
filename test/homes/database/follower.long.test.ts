import './follower.test.js';
