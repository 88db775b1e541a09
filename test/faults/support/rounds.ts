/** Rounds of tests that depend on chance; FAULT_ROUNDS sets another number. */
export const ROUNDS = Number(process.env['FAULT_ROUNDS'] ?? 8);
