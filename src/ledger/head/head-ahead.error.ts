/** The ledger's last entry lies too far ahead of the clock. A start ends with exit code 65. */
export class HeadAheadError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'HeadAheadError';
  }
}
