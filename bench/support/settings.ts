export const API_KEY = 'a-key-for-the-benchmark';
export const CONNECTIONS = 64;
/** Options of Node, as in `npm start`. */
export const SERVICE_FLAGS = ['--max-semi-space-size=32', '--max-old-space-size=512'];
/** Variables of the memory allocator, as in `npm start` and the image. */
export const ALLOCATOR = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '524288',
  MALLOC_TRIM_THRESHOLD_: '8388608',
} as const;

/**
 * Returns the settings of production, with a rate limit that no load reaches. They contain nothing from the environment
 * of this process.
 */
export function serviceSettings(database: string, port = 3000): Record<string, string> {
  return {
    NODE_ENV: 'production',
    API_KEY,
    SIGNING_KEY: Buffer.alloc(32, 1).toString('base64'),
    SECRET_KEY: Buffer.alloc(32, 2).toString('base64'),
    RATE_LIMIT: '1000000000',
    DATABASE_URL: `sqlite:${database}`,
    HOST: '127.0.0.1',
    PORT: String(port),
  };
}
