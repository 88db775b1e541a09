/** Another process is using this database; two writers would fork the chain. The process ends with exit code 75. */
export class DatabaseInUseError extends Error {
  constructor(path: string, why: string) {
    super(`The database ${path} is in use by another process: ${why}`);
    this.name = 'DatabaseInUseError';
  }
}
