/** The ledger's last entry is too far ahead of the clock. Startup ends with exit code 65. */
export class HeadAheadError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'HeadAheadError';
  }
}
