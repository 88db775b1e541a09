/** Loads the packages that every version of the service needs, and prints the processor time of that in seconds. */
const FIXED = [
  ...['@nestjs/core', '@nestjs/common', '@nestjs/platform-express', '@nestjs/throttler', '@nestjs/config'],
  ...['class-validator', 'class-transformer', 'typeorm', 'sqlite3'],
];

async function main(): Promise<void> {
  for (const name of FIXED) await import(name);
  const { user, system } = process.cpuUsage();
  console.log(String((user + system) / 1e6));
}

void main();
