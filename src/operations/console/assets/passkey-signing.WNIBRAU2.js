import{a,b,c,d}from"./chunk.64YSHCU5.js";import"./chunk.VQNEVM7C.js";import"./chunk.35GLESCP.js";export{a as approvalOf,d as passkeysOf,c as registerPasskey,b as signedBy};
