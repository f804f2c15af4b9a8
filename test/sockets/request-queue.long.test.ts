import './request-queue.test.js';
