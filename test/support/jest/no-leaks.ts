import { takeLeaks } from '../application/secret-watch';

/** Applies to every test file: nothing that left the service in its tests may contain a key or a password. */
afterAll(() => {
  const leaks = takeLeaks();
  if (leaks.length > 0) throw new Error(`Secrets were shown.\n${leaks.slice(0, 10).join('\n')}`);
});
