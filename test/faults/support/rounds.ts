/** Rounds of tests that depend on chance. They are few, as other choices are made each time; FAULT_ROUNDS sets another number. */
export const ROUNDS = Number(process.env['FAULT_ROUNDS'] ?? 4);
