/* SPDX-License-Identifier: MIT */
/*
 * UFS1 as 4.4BSD and FreeBSD up to 5.0 laid it on the disk, little-endian:
 * what ufs-newfs writes and ufs-check reads. Field names and order are those
 * of FreeBSD's ffs/fs.h and ufs/dinode.h (and of Linux, fs/ufs/ufs_fs.h).
 */
#ifndef UFS1_H
#define UFS1_H

#include <stdint.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "structures are read and written as they lie in memory: little-endian hosts only"
#endif

#define FS_MAGIC 0x011954
#define CG_MAGIC 0x090255
#define SECTOR 512
#define SUPER_OFFSET 8192 /* bytes from the start of the device */
#define SUPER_BYTES 8192  /* room that newfs leaves for it */
#define NDADDR 12
#define NIADDR 3
#define ROOT_INODE 2
#define DIRECTORY_BLOCK 512
#define MAX_NAME 255
#define FREE_PIECES 8 /* cg_frsum */

struct csum {
	int32_t cs_ndir, cs_nbfree, cs_nifree, cs_nffree;
};

struct super {
	int32_t fs_link, fs_rlink;
	int32_t fs_sblkno, fs_cblkno, fs_iblkno, fs_dblkno;
	int32_t fs_cgoffset;
	uint32_t fs_cgmask;
	int32_t fs_time, fs_size, fs_dsize, fs_ncg;
	int32_t fs_bsize, fs_fsize, fs_frag;
	int32_t fs_minfree, fs_rotdelay, fs_rps;
	uint32_t fs_bmask, fs_fmask;
	int32_t fs_bshift, fs_fshift;
	int32_t fs_maxcontig, fs_maxbpg;
	int32_t fs_fragshift, fs_fsbtodb, fs_sbsize;
	uint32_t fs_csmask;
	int32_t fs_csshift, fs_nindir, fs_inopb, fs_nspf, fs_optim;
	int32_t fs_npsect, fs_interleave, fs_trackskew, fs_id[2];
	int32_t fs_csaddr, fs_cssize, fs_cgsize;
	int32_t fs_ntrak, fs_nsect, fs_spc, fs_ncyl;
	int32_t fs_cpg, fs_ipg, fs_fpg;
	struct csum fs_cstotal;
	int8_t fs_fmod, fs_clean, fs_ronly, fs_flags;
	char fs_fsmnt[512];
	int32_t fs_cgrotor, fs_csp[31], fs_maxcluster, fs_cpc;
	int16_t fs_opostbl[16][8];
	int32_t fs_sparecon[50];
	int32_t fs_contigsumsize, fs_maxsymlinklen, fs_inodefmt;
	uint32_t fs_maxfilesize[2], fs_qbmask[2], fs_qfmask[2];
	int32_t fs_state, fs_postblformat, fs_nrpos, fs_postbloff, fs_rotbloff, fs_magic;
};
_Static_assert(sizeof(struct super) == 1376, "superblock");

struct group {
	int32_t cg_link, cg_magic, cg_time, cg_cgx;
	int16_t cg_ncyl, cg_niblk;
	int32_t cg_ndblk;
	struct csum cg_cs;
	int32_t cg_rotor, cg_frotor, cg_irotor, cg_frsum[FREE_PIECES];
	int32_t cg_btotoff, cg_boff, cg_iusedoff, cg_freeoff, cg_nextfreeoff;
	int32_t cg_clustersumoff, cg_clusteroff, cg_nclusterblks;
	int32_t cg_sparecon[13];
	uint8_t cg_space[];
};
_Static_assert(sizeof(struct group) == 168, "cylinder group");

struct inode {
	uint16_t di_mode;
	int16_t di_nlink;
	uint16_t di_oldids[2];
	uint64_t di_size;
	int32_t di_atime, di_atimensec, di_mtime, di_mtimensec, di_ctime, di_ctimensec;
	int32_t di_db[NDADDR], di_ib[NIADDR];
	uint32_t di_flags;
	int32_t di_blocks; /* sectors */
	int32_t di_gen;
	uint32_t di_uid, di_gid;
	int32_t di_spare[2];
};
_Static_assert(sizeof(struct inode) == 128, "inode");

struct entry {
	uint32_t d_ino;
	uint16_t d_reclen;
	uint8_t d_type, d_namlen;
	char d_name[MAX_NAME + 1];
};
#define ENTRY_BYTES(length) ((8 + (length) + 1 + 3) & ~3)

static inline int is_set(const uint8_t *map, long bit)
{
	return map[bit >> 3] >> (bit & 7) & 1;
}

static inline void set_bit(uint8_t *map, long bit)
{
	map[bit >> 3] |= 1 << (bit & 7);
}

static inline void clear_bit(uint8_t *map, long bit)
{
	map[bit >> 3] &= ~(1 << (bit & 7));
}

#endif
