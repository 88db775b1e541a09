import { takeLeaks } from '../application/secret-watch';

/** Of every test file: nothing that left the service in its tests held a key or a password. */
afterAll(() => {
  const leaks = takeLeaks();
  if (leaks.length > 0) throw new Error(`Secrets were shown.\n${leaks.slice(0, 10).join('\n')}`);
});
