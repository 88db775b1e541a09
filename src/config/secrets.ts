import type { Configuration } from './configuration';

/** What no log line, answer or audit entry may show: keys, and the passwords inside URLs, as written and as meant. */
export function secretsOf(configuration: Configuration): string[] {
  const { apiKey, apiKeyPrevious, signingKey, database, redisUrl } = configuration;
  const urls = [database.kind === 'postgres' ? database.url : null, redisUrl];
  const given = [apiKey, apiKeyPrevious, signingKey?.toString('base64') ?? null, ...urls.flatMap(passwordForms)];
  return given.filter((secret): secret is string => secret !== null && secret !== '');
}

function passwordForms(url: string | null): string[] {
  if (url === null) return [];
  const { password } = new URL(url);
  return [password, decodeURIComponent(password)];
}
