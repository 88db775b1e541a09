import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { ApiDocument } from './api-document';
import { DocsController } from './docs.controller';

/** The API's own documentation, outside the versioned prefix. */
@Module({ imports: [DiscoveryModule], controllers: [DocsController], providers: [ApiDocument] })
export class DocsModule {}
