/**
 * Apart from what starts the application: tests of other processes need the key, and do not load the service for it.
 */
export { TEST_API_KEY as API_KEY } from '../../../src/program/testing/test-api-key';
