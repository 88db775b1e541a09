import{a,b,c,d}from"./chunk.CAEHKYXV.js";import"./chunk.BZCSSQGS.js";import"./chunk.35GLESCP.js";export{a as approvalOf,d as passkeysOf,c as registerPasskey,b as signedBy};
