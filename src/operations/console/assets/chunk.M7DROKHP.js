import{l as e}from"./chunk.GV7GXWN6.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
