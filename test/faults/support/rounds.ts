/** How often what is left to chance is tried; FAULT_ROUNDS asks for more. */
export const ROUNDS = Number(process.env['FAULT_ROUNDS'] ?? 8);
